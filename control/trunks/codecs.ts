import type { CodecName } from '../../media/protocol.ts'

/** What we speak, the preferred one first. */
export const CODECS: CodecName[] = ['PCMU', 'PCMA']
