import { Phone } from '../phone/phone.ts'
import type { Product } from '../product.ts'

/** Creates agents with registered phones, which answer every call and stay until the other party hangs up. */
export async function openAgents(product: Product, count: number) {
  const phones: Phone[] = []
  const users: string[] = []
  for (let nth = 0; nth < count; nth++) {
    const { user_id: userId } = await product.ok('POST', '/invitations', { email: `agent${nth}@example.com` })
    await product.ok('PATCH', `/users/${userId}`, { status: 'active' })
    const phone = await Phone.open(`agent${nth}`)
    await phone.register(await product.ok('POST', `/users/${userId}/sip_credential`), product.sip)
    await product.ok('PUT', `/agents/${userId}/status`, { status: 'available' })
    phones.push(phone)
    users.push(userId)
    void takeCalls(phone)
  }
  const { id } = await product.ok('POST', '/queues', { name: 'Bench', member_user_ids: users, wrap_up_seconds: 0 })
  return {
    queueId: id as string,
    close: async (): Promise<void> => {
      await Promise.all(phones.map(phone => phone.close()))
    },
  }
}

async function takeCalls(phone: Phone): Promise<void> {
  for (;;) {
    const call = await phone.next()
    call.answer()
  }
}
