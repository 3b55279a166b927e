#!/usr/bin/env bash
# Runs a command with Node 20 or newer and npm: those that are there, else Debian's; where that Node is older,
# with the one that npm's package for this kind of machine holds, which goes into .node/.
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

suits() { command -v npm >/dev/null && node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null; }

if ! command -v npm >/dev/null; then
  echo "Installing Node ..." >&2
  { apt-get install -y -qq --no-install-recommends nodejs npm ||
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs npm; }; } >&2
fi
if ! suits && command -v npm >/dev/null; then
  case $(uname -m) in x86_64) kind=x64 ;; aarch64) kind=arm64 ;; *) kind=$(uname -m) ;; esac
  package=node-$(uname -s | tr '[:upper:]' '[:lower:]')-$kind
  own=$here/.node/node_modules/$package/bin
  [ -x "$own/node" ] || npm i --prefix "$here/.node" --no-save --ignore-scripts --no-audit --no-fund "$package@20" >&2
  PATH=$own:$PATH
fi
suits || { echo "The extension needs Node 20 or newer with npm, and it cannot be installed here." >&2; exit 2; }
exec "$@"
