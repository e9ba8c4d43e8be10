/** A row that belongs to an organisation and a mode; read and written through `forTenant` only. */
export interface TenantColumns {
  organisation_id: string
  livemode: number
}
