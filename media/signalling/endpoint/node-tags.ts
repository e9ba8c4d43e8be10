import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'

const CIPHER = 'aes-128-gcm'
const [KEY_BYTES, NONCE_BYTES, PROOF] = [16, 12, { authTagLength: 8 }] as const

/**
 * Tags of dialogs that tell the other nodes of a database whose a dialog is, and nobody else: the address of the node, sealed, follows what is
 * random. Whoever copies the mark reaches that node, as anybody can who is told its address.
 */
export class NodeTags {
  /** Ends the tags of this node. Empty: there are no other nodes. */
  readonly mark: string
  readonly #key: Buffer

  /** `secret`: shared by the nodes. `node`: where they find this one, `host:port`; null: nowhere. */
  constructor({ secret, node }: { secret: string; node: string | null }) {
    this.#key = createHmac('sha256', secret).update('tags of dialogs').digest().subarray(0, KEY_BYTES)
    this.mark = node === null ? '' : `.${this.#seal(node)}`
  }

  /** The node that has made a tag, `host:port`; null: none that shares the secret. */
  nodeOf(tag: string): string | null {
    const bytes = Buffer.from(tag.slice(tag.indexOf('.') + 1), 'base64url')
    const end = bytes.length - PROOF.authTagLength
    if (end <= NONCE_BYTES) return null
    const cipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, NONCE_BYTES), PROOF)
    cipher.setAuthTag(bytes.subarray(end))
    const node = cipher.update(bytes.subarray(NONCE_BYTES, end), undefined, 'utf8')
    try {
      return node + cipher.final('utf8')
    } catch {
      return null
    }
  }

  #seal(node: string): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.#key, nonce, PROOF)
    const sealed = [nonce, cipher.update(node), cipher.final()]
    return Buffer.concat([...sealed, cipher.getAuthTag()]).toString('base64url')
  }
}
