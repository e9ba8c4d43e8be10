/** What a key may be allowed to do (api-additions.md, "Scopes"). */
export const SCOPES = [
  'calls:read',
  'calls:write',
  'streams:write',
  'pci:write',
  'recordings:read',
  'conference:read',
  'conference:write',
  'numbers:read',
  'numbers:write',
  'connections:read',
  'connections:write',
  'events:read',
  'keys:write',
  'organisation:read',
  'organisation:write',
] as const

export type Scope = (typeof SCOPES)[number]
