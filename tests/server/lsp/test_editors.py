"""Real editors, set up as the page on editors says, see what is wrong, ask what it is, and mend it.

Skipped where an editor is not installed; ``make test-editors`` installs both.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "editors.md"
BROKEN = "workflow: a\nsteps:\n  - id: a\n    blok: log\n    params: {message: hi}\n"


def setup(heading: str) -> str:
    """The configuration that the page gives for an editor."""
    part = PAGE.read_text("utf-8").split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    found = re.search(r"```\w+\n(.*?)```", part, re.DOTALL)
    assert found is not None
    return found[1]


def run(command: list[str], folder: Path) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / ".config")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=180, check=False)
    return (done.stdout + done.stderr).decode("utf-8", "replace")


NEOVIM = """
local function wait(what, ready)
  if not vim.wait(60000, ready, 50) then print("VAIN " .. what) vim.cmd("qall!") end
end
vim.cmd("edit a.workflow.yaml")
vim.cmd("doautocmd BufReadPost")
wait("diagnostics", function() return #vim.diagnostic.get(0) > 0 end)
print("SEEN " .. vim.diagnostic.get(0)[1].message .. "\\n")
local place = { textDocument = { uri = vim.uri_from_bufnr(0) }, position = { line = 4, character = 6 } }
for _, answer in pairs(vim.lsp.buf_request_sync(0, "textDocument/hover", place, 60000)) do
  print("HOVER " .. answer.result.contents.value:gsub("\\n", " ") .. "\\n")
end
local range = { start = { line = 3, character = 4 }, ["end"] = { line = 3, character = 8 } }
local asked = { textDocument = place.textDocument, range = range, context = { diagnostics = {} } }
for id, answer in pairs(vim.lsp.buf_request_sync(0, "textDocument/codeAction", asked, 60000)) do
  local action = answer.result[1]
  if not action.edit then
    local client = vim.lsp.get_client_by_id(id)
    action = client.request_sync("codeAction/resolve", action, 60000, 0).result
  end
  local encoding = vim.lsp.get_client_by_id(id).offset_encoding
  vim.lsp.util.apply_workspace_edit(action.edit, encoding)
end
wait("peace", function() return #vim.diagnostic.get(0) == 0 end)
print("MENDED " .. vim.api.nvim_buf_get_lines(0, 3, 4, true)[1] .. "\\n")
vim.cmd("qall!")
"""


@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed; make test-editors installs it")
def test_neovim(tmp_path: Path) -> None:
    (tmp_path / "a.workflow.yaml").write_text(BROKEN)
    (tmp_path / "test.lua").write_text(setup("Neovim") + NEOVIM)
    said = run(["nvim", "--headless", "-u", "NONE", "-n", "-c", "luafile test.lua"], tmp_path)
    assert 'SEEN "blok" is no field of a step.' in said, said
    assert "HOVER **params**" in said
    assert "MENDED     block: log" in said


EMACS = """
(defun wait (what ready)
  (let ((end (+ (float-time) 60)))
    (while (and (not (funcall ready)) (< (float-time) end)) (accept-process-output nil 0.05))
    (unless (funcall ready) (message "VAIN %s" what) (kill-emacs 1))))
(setq eglot-sync-connect 60 eglot-confirm-server-initiated-edits nil create-lockfiles nil)
(find-file "a.workflow.yaml")
(unless (eglot-current-server) (apply #'eglot (eglot--guess-contact)))
(wait "connection" (lambda () (eglot-current-server)))
(require 'flymake)
(wait "diagnostics" (lambda () (flymake-start) (flymake-diagnostics)))
(message "SEEN %s" (flymake-diagnostic-text (car (flymake-diagnostics))))
(goto-char (point-min))
(search-forward "params")
(backward-char 2)
(let ((found (jsonrpc-request (eglot-current-server) :textDocument/hover (eglot--TextDocumentPositionParams))))
  (message "HOVER %s" (plist-get (plist-get found :contents) :value)))
(goto-char (point-min))
(search-forward "blok")
(let* ((server (eglot-current-server))
       (actions (jsonrpc-request server :textDocument/codeAction
                 (list :textDocument (eglot--TextDocumentIdentifier)
                       :range (list :start (eglot--pos-to-lsp-position (- (point) 4))
                                    :end (eglot--pos-to-lsp-position (point)))
                       :context (list :diagnostics []))))
       (action (aref actions 0)))
  (unless (plist-get action :edit) (setq action (jsonrpc-request server :codeAction/resolve action)))
  (eglot--apply-workspace-edit (plist-get action :edit)))
(goto-char (point-min))
(search-forward "block: log")
(eglot--signal-textDocument/didChange) ; sent when idle, which a batch never is
(wait "peace" (lambda () (flymake-start) (accept-process-output nil 0.1) (not (flymake-diagnostics))))
(message "MENDED %s" (string-trim (thing-at-point 'line t)))
(set-buffer-modified-p nil)
(kill-emacs 0)
"""


def _eglot() -> list[str]:
    """Where Debian puts eglot for an Emacs that does not have it built in."""
    return [str(path) for path in Path("/usr/share/emacs/site-lisp/elpa").glob("*") if path.is_dir()]


@pytest.mark.skipif(shutil.which("emacs") is None, reason="Emacs is not installed; make test-editors installs it")
def test_emacs(tmp_path: Path) -> None:
    (tmp_path / "a.workflow.yaml").write_text(BROKEN)
    (tmp_path / "test.el").write_text(setup("Emacs") + EMACS)
    command = ["emacs", "--batch", "-Q"]
    for folder in _eglot():
        command += ["-L", folder]
    said = run([*command, "-l", "test.el"], tmp_path)
    if "Cannot open load file" in said and "eglot" in said:
        pytest.skip("this Emacs has no eglot; make test-editors installs it")
    assert "SEEN " in said, said
    assert '"blok" is no field of a step.' in said, said
    assert "HOVER params" in said  # without markdown-mode it asks for plain text
    assert "MENDED block: log" in said
