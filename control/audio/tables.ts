import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    audio_assets: AudioAssetRow
  }
}

/** The audio is the file `audio/<id>.wav` of the data directory. */
export interface AudioAssetRow extends TenantColumns {
  id: string
  name: string
  kind: 'prompt' | 'music'
  sample_rate: number
  duration_ms: number
  text: string
  created: string
}
