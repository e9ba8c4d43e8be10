/** The row of a connection for outbound calls. A test spreads it and overrides what it needs. */
export const trunkRow = (at: string) => ({
  id: 'conn_1',
  name: 'Trunk',
  kind: 'trunk' as const,
  host: '192.0.2.50',
  port: 5060,
  transport: 'udp' as const,
  auth_username: null,
  auth_password: null,
  allowed_ips: '[]',
  codecs: '["PCMU"]',
  max_calls: null,
  enabled: 1,
  created: at,
  updated: at,
})
