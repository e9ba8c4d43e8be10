/** The bytes of strict base64 (RFC 4648 §4), padded or not; null if it is invalid. `Buffer.from` would skip unknown characters. */
export function decodeBase64(text: string): Buffer | null {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null
  const bytes = Buffer.from(text, 'base64')
  return text.replace(/=+$/, '').length === Math.ceil((bytes.length * 4) / 3) ? bytes : null
}
