"""``interlock lsp``: the language server, on standard input and output or on a TCP port."""

from __future__ import annotations

import argparse
import logging
import os
import socket
import sys
from typing import BinaryIO

from interlock.server.cli.main import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stdio", action="store_true", help="speak on standard input and output (the default)")
    parser.add_argument("--tcp", metavar="HOST:PORT", help="wait for one client on a TCP port, for debugging")
    parser.add_argument("--log-file", metavar="FILE", help="write a log to this file instead of standard error")
    parser.add_argument("--log-level", choices=("error", "warning", "info", "debug"), default="warning")


def run(options: argparse.Namespace) -> int:
    if options.stdio and options.tcp:
        raise UsageError("--stdio and --tcp exclude each other; give one of them.")
    _log(options.log_file, options.log_level)
    import asyncio

    from interlock.server.lsp.server import Server

    source: BinaryIO
    sink: BinaryIO
    sys.setswitchinterval(0.001)  # the check must not keep the loop from its messages
    if options.tcp:
        client = _accept(options.tcp)
        source, sink = client.makefile("rb"), client.makefile("wb")
    else:
        source, sink = sys.stdin.buffer, sys.stdout.buffer
        sys.stdout = sys.stderr  # whatever else is printed must not end up between messages
    code = asyncio.run(Server().serve(source, sink))
    logging.shutdown()
    os._exit(code)  # the listener may still wait for input that nobody will send


def _log(path: str | None, level: str) -> None:
    try:
        logging.basicConfig(
            filename=path,
            level=getattr(logging, level.upper()),
            format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        )
    except OSError as error:
        raise UsageError(f'the log cannot be written to "{path}": {error.strerror}.') from None


def _accept(address: str) -> socket.socket:
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdigit() or int(port) > 65535:
        raise UsageError(f'"{address}" is no address; write HOST:PORT, such as 127.0.0.1:7777.')
    try:
        with socket.create_server((host.strip("[]") or "127.0.0.1", int(port))) as listening:
            print(
                f"listening on {listening.getsockname()[0]}:{listening.getsockname()[1]}", file=sys.stderr, flush=True
            )
            client, _ = listening.accept()
    except OSError as error:
        raise UsageError(f'cannot listen on "{address}": {error.strerror or error}.') from None
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client
