"""The YAML file: positions, schema, presets, explaining errors, building a Scenario."""
