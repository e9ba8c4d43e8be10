import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { OwnAddresses } from '../../../../media/kernel/own-addresses.ts'
import { headerOf, offer, request } from '../../../fuzz/raw-caller.ts'
import { LocalMedia } from '../../local-media.ts'

/**
 * Shows which of our addresses far ends in several networks are told while we listen on `::`. Arguments: our address and a far end's in each network. It
 * runs in a network namespace of its own (network_namespaces(7)), and prints for each far end the hosts in our answer and in our call.
 */
const [, , ...pairs] = process.argv
const media = await LocalMedia.open({}, { addresses: new OwnAddresses(['::'], []) })
const told: object[] = []
for (const [index, pair] of pairs.entries()) {
  const [ours = '', theirs = ''] = pair.split('=')
  const family = theirs.includes(':') ? 6 : 4
  const host = family === 6 ? `[${theirs}]` : theirs
  const got: string[] = []
  const socket = createSocket(`udp${family}`).bind(0, theirs)
  await once(socket, 'listening')
  socket.on('message', bytes => got.push(bytes.toString('latin1')))
  const { port } = socket.address()
  const expect = async (start: string): Promise<string> => {
    await media.engine.until(() => got.some(text => text.startsWith(start)))
    return got.find(text => text.startsWith(start))!
  }
  const body = offer(4000).replaceAll('IP4 127.0.0.1', `IP${family} ${theirs}`)
  const dialog = { callId: `in${index}`, branch: `z9hG4bKin${index}`, user: 'desk', fromTag: 'far', host, port }
  socket.send(request({ ...dialog, method: 'INVITE', serverPort: media.sipPort, body }), media.sipPort, ours)
  await media.engine.until(() => media.of('leg.incoming').length > index)
  await media.answer(media.of('leg.incoming')[index]!.legId)
  const answer = await expect('SIP/2.0 200')
  await media.dial(`part_${index}`, { port }, { uri: `sip:phone@${host}:${port}` })
  const call = await expect('INVITE')
  told.push({
    answer: [hostOf(headerOf(answer, 'Contact')), audioHostOf(answer)],
    call: [hostOf(headerOf(call, 'Via')), hostOf(headerOf(call, 'Contact')), audioHostOf(call)],
  })
  socket.close()
}
console.log(JSON.stringify(told))
process.exit(0)

function hostOf(value: string | null): string | undefined {
  return /(?:UDP |sip:[^@]*@|sip:)\[?([\da-f.:]+?)\]?:\d+[;>]/.exec(value ?? '')?.[1]
}

function audioHostOf(message: string): string | undefined {
  return /^c=IN IP[46] (\S+)/m.exec(message)?.[1]
}
