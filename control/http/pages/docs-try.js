// Sends the requests of the documentation page with a test key, and shows what is answered.
const keyField = document.getElementById('test-key')

for (const form of document.querySelectorAll('form[data-path]')) {
  form.addEventListener('submit', event => {
    event.preventDefault()
    send(form)
  })
}

async function send(form) {
  const output = form.querySelector('output')
  const button = form.querySelector('button')
  const key = keyField.value.trim()
  if (key === '') return show(output, 'Type your test key in at the top of the page first.')
  if (key.startsWith('sk_live_')) return show(output, 'That is a live key. Only test keys are taken here.')
  button.disabled = true
  show(output, '…')
  try {
    show(output, await answerTo(form, key))
  } catch (error) {
    show(output, `No answer: ${error.message}`)
  } finally {
    button.disabled = false
  }
}

async function answerTo(form, key) {
  const { method, path } = form.dataset
  const fields = [...new FormData(form)].map(([name, value]) => [name, String(value).trim()])
  const of = place =>
    fields.flatMap(([name, value]) =>
      name.startsWith(`${place}.`) && value !== '' ? [[name.slice(place.length + 1), value]] : [],
    )
  const ids = new Map(of('path'))
  const filled = path.replace(/\{([^}]+)\}/g, (_, name) => encodeURIComponent(ids.get(name) ?? ''))
  const query = new URLSearchParams(of('query')).toString()
  const body = fields.find(([name]) => name === 'body')?.[1] ?? ''
  const response = await fetch(query === '' ? filled : `${filled}?${query}`, {
    method,
    // The server refuses live keys of a playground, whatever they look like.
    headers: {
      Authorization: `Bearer ${key}`,
      'Service-Playground': 'true',
      ...(body === '' ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === '' ? {} : { body }),
    cache: 'no-store',
    credentials: 'omit',
  })
  const type = response.headers.get('content-type') ?? ''
  const head = `${response.status} ${response.statusText}  (${response.headers.get('request-id') ?? ''})`
  if (!type.startsWith('application/json'))
    return `${head}\n${type}, ${(await response.arrayBuffer()).byteLength} bytes`
  return `${head}\n${JSON.stringify(await response.json(), null, 2)}`
}

function show(output, text) {
  output.textContent = text
}
