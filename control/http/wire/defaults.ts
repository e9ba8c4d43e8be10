/** The schema of a request in which fields with a default are optional: defaults are filled in first. */
export function defaultsOptional(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(defaultsOptional)
  if (typeof schema !== 'object' || schema === null) return schema
  const parts = Object.entries(schema).map(([name, part]) => [name, defaultsOptional(part)] as const)
  const whole = Object.fromEntries(parts) as { required?: unknown; properties?: Record<string, { default?: unknown }> }
  if (!Array.isArray(whole.required)) return whole
  const required = whole.required.filter(name => whole.properties?.[name]?.default === undefined)
  return { ...whole, required }
}
