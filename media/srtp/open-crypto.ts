import type { SessionKeys } from './key-derivation.ts'
import { NodeCrypto } from './node-crypto.ts'
import type { PacketCrypto } from './packet-crypto.ts'

/** The fastest available implementation. Native code that cannot be loaded, as on another machine, is not an error. */
const openNative = await import('./native-crypto.ts').then(
  ({ openNativeCrypto }) => {
    for (const aes of ['of the processor', 'of the library'] as const) {
      try {
        return openNativeCrypto(aes)
      } catch {}
    }
    return null
  },
  () => null,
)

export const openPacketCrypto = (keys: SessionKeys): PacketCrypto => openNative?.(keys) ?? new NodeCrypto(keys)
