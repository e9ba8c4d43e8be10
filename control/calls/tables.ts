/** Tables of calls, rooms, routes, numbers and connections. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by the calls migration
export interface CallTables {}
