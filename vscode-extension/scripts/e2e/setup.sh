#!/usr/bin/env bash
# Gets what the end-to-end tests need into one folder: code-server (VS Code in a browser), the library that
# drives the browser, the language server for YAML, and Debian's Chromium. Does nothing where it is there already; exits with 3 and one
# sentence where something cannot be had.
set -uo pipefail

target=${1:?usage: e2e-setup.sh FOLDER}
mkdir -p "$target"
cd "$target" || exit 3
log=$target/setup.log

missing() { echo "e2e: $1 cannot be had here (see $log)." >&2; exit 3; }

packages="code-server@4.100.3 playwright-core@1.65 yaml-language-server@1 upng-js@2"
[ "$(cat .ready 2>/dev/null)" = "$packages" ] && command -v chromium >/dev/null && exit 0

if ! command -v chromium >/dev/null || ! pkg-config --exists krb5 libsecret-1 x11 xkbfile 2>/dev/null; then
  debian="chromium libkrb5-dev libsecret-1-dev libx11-dev libxkbfile-dev pkg-config"
  # shellcheck disable=SC2086
  { apt-get install -y -qq --no-install-recommends $debian ||
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends $debian; }; } >>"$log" 2>&1 ||
    missing "Chromium or one of the libraries that code-server is built with"
fi

[ -f package.json ] || echo '{"private": true}' >package.json
# shellcheck disable=SC2086
npm i --ignore-scripts --no-audit --no-fund $packages >>"$log" 2>&1 || missing "code-server"
(
  cd node_modules/code-server/lib/vscode || exit 1
  npm i --ignore-scripts --omit=dev --unsafe-perm --no-audit --no-fund || exit 1
  (cd extensions && npm i --ignore-scripts --omit=dev --no-audit --no-fund) || exit 1
  # Ends with an error although everything that is needed is built.
  npm rebuild --unsafe-perm @parcel/watcher @vscode/spdlog @vscode/deviceid kerberos native-watchdog node-pty
  ln -sfn node_modules node_modules.asar
) >>"$log" 2>&1 || missing "what code-server needs"
(cd node_modules/argon2 && npm run install --unsafe-perm) >>"$log" 2>&1 || missing "a part of code-server"
echo "$packages" >.ready
