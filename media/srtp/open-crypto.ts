import type { SessionKeys } from './key-derivation.ts'
import { NodeCrypto } from './node-crypto.ts'
import type { PacketCrypto } from './packet-crypto.ts'

/** The fastest available implementation. Native code that cannot be loaded, as on another machine, is not an error. */
const openNative = await import('./native-crypto.ts')
  .then(({ openNativeCrypto }) => openNativeCrypto())
  .catch(() => null)

export const openPacketCrypto = (keys: SessionKeys): PacketCrypto => openNative?.(keys) ?? new NodeCrypto(keys)
