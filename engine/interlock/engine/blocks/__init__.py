"""Blocks: the units of outside work, built in and added by a host (section 5.1)."""

from interlock.analyzer.language.blocks import EffectsUnless
from interlock.engine.blocks.context import BlockFailed, Context
from interlock.engine.blocks.registry import Registry, block

__all__ = ["BlockFailed", "Context", "EffectsUnless", "Registry", "block"]
