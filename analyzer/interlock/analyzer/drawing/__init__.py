"""Pictures of workflows: a neutral outline, and its forms as Mermaid, DOT, JSON and SVG."""
