import type { KeyObject, X509Certificate } from 'node:crypto'
import type { CredentialFiles } from '../kernel/credential-files.ts'
import { type AddressPolicy, readyToSend } from '../protocol.ts'
import { Certificates } from './certificates.ts'
import { certificatesIn, earliestEnd } from './chain.ts'
import { Signer, signingKey } from './signer.ts'
import { Verifier } from './verifier.ts'

export interface Identities {
  /** Null: calls are not signed. */
  signer: Signer | null
  /** Null: no signature is verified. */
  verifier: Verifier | null
}

interface IdentitySettings {
  signing: { keyFile: string; certUrl: string } | null
  anchorsFile: string | null
  allowedNetworks: AddressPolicy['allowed']
}

interface IdentityParts {
  credentials: CredentialFiles
  /** The process is started again under running services: one file that cannot be used must not keep all else down. */
  isRestart: boolean
  /** Monotonic [ms]. */
  now: () => number
  timeOfDay: () => number
}

/** Reads the key and the authorities, and follows their changes. Throws if one cannot be used. */
export function identitiesOf(settings: IdentitySettings, parts: IdentityParts): Identities {
  return { signer: signerOf(settings, parts), verifier: verifierOf(settings, parts) }
}

function signerOf({ signing }: IdentitySettings, { credentials, isRestart, timeOfDay }: IdentityParts): Signer | null {
  if (signing === null) return null
  const own = credentials.watch<{ key: KeyObject | null; expiresAt: null }>({
    name: 'stir_key',
    files: [signing.keyFile],
    read: ([file = Buffer.alloc(0)]) => ({ key: signingKey(file), expiresAt: null }),
    use: ({ key }) => {
      if (key !== null) signer.renew(key)
    },
    instead: isRestart ? { key: null, expiresAt: null } : undefined,
  })
  const signer = new Signer({ key: own.key, x5u: signing.certUrl, now: timeOfDay })
  return signer
}

function verifierOf(settings: IdentitySettings, parts: IdentityParts): Verifier | null {
  const { anchorsFile, allowedNetworks: allowed } = settings
  if (anchorsFile === null) return null
  const trusted = parts.credentials.watch<{ anchors: readonly X509Certificate[]; expiresAt: number | null }>({
    name: 'stir_trust_anchor',
    files: [anchorsFile],
    read: ([file = Buffer.alloc(0)]) => {
      const anchors = certificatesIn(file, Number.POSITIVE_INFINITY)
      return { anchors, expiresAt: earliestEnd(anchors) }
    },
    use: ({ anchors }) => certificates.trust(anchors),
    // No signature is believed.
    instead: parts.isRestart ? { anchors: [], expiresAt: null } : undefined,
  })
  void readyToSend()
  const reach = { addresses: { publicOnly: true, allowed } }
  const certificates = new Certificates({ anchors: trusted.anchors, reach, now: parts.now })
  return new Verifier({ certificates, now: parts.timeOfDay })
}
