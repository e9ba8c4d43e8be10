import type { CodecName } from '../../media/protocol.ts'

/** What we can speak. */
export const KNOWN_CODECS = ['PCMU', 'PCMA', 'G722', 'opus', 'L16/16000', 'L16/8000'] as const satisfies CodecName[]

/** What we speak where nobody says otherwise, the preferred one first. */
export const CODECS: CodecName[] = ['PCMU', 'PCMA']
