import type { CodecName } from '../../media/protocol.ts'

/** The codecs that we support. */
export const KNOWN_CODECS = ['PCMU', 'PCMA', 'G722', 'opus', 'L16/16000', 'L16/8000'] as const satisfies CodecName[]

/** The default codecs, in order of preference. */
export const CODECS: CodecName[] = ['PCMU', 'PCMA']
