/** A voice of the offline engine; all speak English. */
export interface OfflineVoice {
  id: string
  name: string
  gender: 'female' | 'male'
}

/** `kal` is the plainest and the quickest. */
export const OFFLINE_VOICES: readonly OfflineVoice[] = [
  { id: 'rms', name: 'RMS', gender: 'male' },
  { id: 'slt', name: 'SLT', gender: 'female' },
  { id: 'awb', name: 'AWB', gender: 'male' },
  { id: 'kal16', name: 'Kal, 16 kHz', gender: 'male' },
  { id: 'kal', name: 'Kal', gender: 'male' },
]

/** The voice whose words the recogniser mistakes least often over a telephone (`bench/RESULTS.md`). */
export const DEFAULT_OFFLINE_VOICE = 'rms'
