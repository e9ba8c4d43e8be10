/**
 * The JSON of each event of a stream (https://html.spec.whatwg.org/multipage/server-sent-events.html), up to `[DONE]`. Throws a
 * `SyntaxError` for invalid JSON, and for more than `maxBytes`.
 */
export async function* sseEvents(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<unknown> {
  const decoder = new TextDecoder()
  let [open, size] = ['', 0]
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > maxBytes) throw new SyntaxError('too long')
    open += decoder.decode(chunk, { stream: true })
    const lines = open.split(/\r\n|\r|\n/)
    open = lines.pop() ?? ''
    for (const line of lines) {
      // Providers write the data of an event in one line.
      if (!line.startsWith('data:')) continue
      const data = line.slice(5).trim()
      if (data === '[DONE]') return
      if (data !== '') yield JSON.parse(data)
    }
  }
}
