import { escapeHtml, htmlPage } from '../http/pages/html.ts'

export type InvitationState = 'open' | 'accepted' | 'expired' | 'unknown'

/** The page to which an invitation links. Its form posts to the same address. */
export function invitationPage(state: InvitationState, organisation: string): string {
  const name = `<b dir="auto">${escapeHtml(organisation)}</b>`
  const body = {
    open: `<p>${name} invites you to its telephone system.</p><form method="post"><button>Accept</button></form>`,
    accepted: `<p>You are a member of ${name}.</p>`,
    expired: `<p>This invitation of ${name} works no more: ask for a new one.</p>`,
    unknown: '<p>There is no such invitation: the link is not whole, or was replaced.</p>',
  }[state]
  return htmlPage('Invitation', `<h1>Invitation</h1>\n${body}`)
}
