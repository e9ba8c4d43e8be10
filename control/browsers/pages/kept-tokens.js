/**
 * Tokens that open the softphone again after a reload or a lost network: the newest two, for this tab. Two, since one may be used up by a
 * connection whose answer was lost.
 */
const KEY = 'tandem-softphone-tokens'
const MOST = 2

export function keptTokens() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? '[]')
  } catch {
    return []
  }
}

/** The newest is tried first. */
export function keepToken(token) {
  sessionStorage.setItem(KEY, JSON.stringify([token, ...keptTokens()].slice(0, MOST)))
}

export const forgetTokens = () => sessionStorage.removeItem(KEY)
