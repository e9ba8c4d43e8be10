import type { CodecName } from '../../media/protocol.ts'

/** What calls offer and accept unless their connection says otherwise, in order of preference. */
export const CODECS: CodecName[] = ['PCMU', 'PCMA']
