import { checkServerIdentity, type PeerCertificate } from 'node:tls'

/** A SIP domain in a certificate: a URI with nothing but a host (RFC 5922 §7.1). */
const DOMAIN = /^URI:sip:([a-z0-9.-]+)$/i

/** Whether a certificate is of the name that was looked up, as a SIP domain or as any server's. Returns why it is not. */
export const checkSipIdentity = (name: string, certificate: PeerCertificate): Error | undefined =>
  domainsIn(certificate).includes(name.toLowerCase()) ? undefined : checkServerIdentity(name, certificate)

function domainsIn({ subjectaltname = '' }: PeerCertificate): string[] {
  // Node quotes what could be taken for several names: no SIP domain needs that.
  if (subjectaltname.includes('"')) return []
  return subjectaltname.split(', ').flatMap(one => DOMAIN.exec(one)?.[1]?.toLowerCase() ?? [])
}
