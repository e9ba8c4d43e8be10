/** Shows a callback form where its script stands: <script src="…/sites/form.js" data-site="site_…" async></script> */
;(() => {
  const script = document.currentScript
  const site = script.dataset.site
  const base = new URL('..', script.src).href
  const WORDS = {
    en: {
      ...{ phone: 'Phone number', name: 'Name', message: 'What is it about?', send: 'Call me back' },
      ...{ wait: 'One moment …', done: 'Thank you. We will call you back.' },
      failed: 'That did not work. Please try again later.',
      often: 'Too many requests. Please try again in a few minutes.',
      wrong: {
        phone: 'Please check the phone number. Begin with + and the country code.',
        name: 'Please give your name.',
        message: 'Please say what it is about.',
      },
    },
    he: {
      ...{ phone: 'מספר טלפון', name: 'שם', message: 'במה מדובר?', send: 'חזרו אליי' },
      ...{ wait: 'רק רגע …', done: 'תודה. נחזור אליך בהקדם.' },
      failed: 'הפעולה נכשלה. אפשר לנסות שוב מאוחר יותר.',
      often: 'יותר מדי בקשות. אפשר לנסות שוב בעוד כמה דקות.',
      wrong: {
        phone: 'יש לבדוק את מספר הטלפון. הוא מתחיל ב-+ ובקידומת המדינה.',
        name: 'יש למלא שם.',
        message: 'יש לכתוב במה מדובר.',
      },
    },
  }
  /** Of no specificity: any rule of the page wins. */
  const STYLE = `
    :where(.tandem-callback) { display: grid; gap: 1em; max-width: 24em; font: inherit }
    :where(.tandem-callback label) { display: grid; gap: 0.3em }
    :where(.tandem-callback :is(input, textarea, button)) { font: inherit; padding: 0.5em 0.7em; border: 1px solid #767676; border-radius: 0.3em }
    :where(.tandem-callback textarea) { min-height: 5em; resize: vertical }
    :where(.tandem-callback button) { justify-self: start; padding: 0.5em 1.2em; cursor: pointer }
    :where(.tandem-callback [aria-invalid=true]) { border-color: #b00020 }
    :where(.tandem-callback p) { margin: 0 }
    :where(.tandem-callback p:empty) { display: none }
    :where(.tandem-callback [role=alert]) { color: #b00020 }`
  const ask = async (path, init) => {
    const response = await fetch(`${base}sites/${encodeURIComponent(site)}/${path}`, init)
    const body = await response.json()
    if (!response.ok) throw Object.assign(new Error(body.error.message), body.error)
    return body
  }
  const zeroBits = bytes => {
    let bits = 0
    for (const byte of bytes) {
      if (byte !== 0) return bits + Math.clz32(byte) - 24
      bits += 8
    }
    return bits
  }
  /** The number behind which the SHA-256 of `challenge.number` begins with so many zero bits. */
  const solve = async ({ challenge, bits }) => {
    const encoder = new TextEncoder()
    for (let solution = 0; ; solution++) {
      const hash = await crypto.subtle.digest('SHA-256', encoder.encode(`${challenge}.${solution}`))
      if (zeroBits(new Uint8Array(hash)) >= bits) return solution
    }
  }
  const add = (parent, tag, props) => parent.appendChild(Object.assign(document.createElement(tag), props))

  const show = settings => {
    // A page may say anything of itself, such as en_US.
    const language = (settings.language ?? document.documentElement.lang).replace(/[^a-z0-9]+/gi, '-').slice(0, 35)
    const words = WORDS[language.slice(0, 2).toLowerCase()] ?? WORDS.en
    const form = document.createElement('form')
    form.className = 'tandem-callback'
    form.lang = words === WORDS.he ? 'he' : 'en'
    form.dir = words === WORDS.he ? 'rtl' : 'ltr'
    const field = (name, tag, props) => {
      const label = add(form, 'label', { textContent: `${words[name]} ` })
      return add(label, tag, { name, ...props })
    }
    field('phone', 'input', { type: 'tel', dir: 'ltr', required: true, maxLength: 50, autocomplete: 'tel' })
    for (const [name, tag] of [
      ['name', 'input'],
      ['message', 'textarea'],
    ]) {
      const how = settings.fields[name]
      if (how !== 'hidden') field(name, tag, { required: how === 'required', maxLength: name === 'name' ? 200 : 2000 })
    }
    // People do not see it; who fills it in is none.
    const trap = add(form, 'input', { name: 'website', tabIndex: -1, autocomplete: 'off' })
    trap.setAttribute('aria-hidden', 'true')
    Object.assign(trap.style, { position: 'absolute', left: '-9999px', width: '1px', height: '1px' })
    const button = add(form, 'button', { type: 'submit', textContent: words.send })
    const status = add(form, 'p', { tabIndex: -1 })
    status.setAttribute('role', 'status')
    const alert = add(form, 'p', { id: `tandem-callback-${site}` })
    alert.setAttribute('role', 'alert')
    let faulty = null
    /** Says what was wrong: at its field, where there is one. */
    const blame = ({ param, code }) => {
      const wrong = words.wrong[param]
      status.textContent = ''
      alert.textContent = wrong ?? (code === 'rate_limited' ? words.often : words.failed)
      if (wrong === undefined) return
      faulty = form.elements.namedItem(param)
      faulty?.setAttribute('aria-invalid', 'true')
      faulty?.setAttribute('aria-describedby', alert.id)
      faulty?.focus()
    }
    const forgive = () => {
      alert.textContent = ''
      for (const said of ['aria-invalid', 'aria-describedby']) faulty?.removeAttribute(said)
      faulty = null
    }
    form.addEventListener('submit', async event => {
      event.preventDefault()
      button.disabled = true
      forgive()
      status.textContent = words.wait
      try {
        const fresh = await ask('form')
        const sent = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ''))
        const proof = { challenge: fresh.challenge, solution: await solve(fresh) }
        const body = JSON.stringify({
          ...sent,
          ...proof,
          page: location.href.slice(0, 2000),
          language: language || 'en',
        })
        await ask('callbacks', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
        form.replaceChildren(status)
        status.textContent = words.done
        // The button that had it is gone.
        status.focus()
      } catch (error) {
        blame(error)
        button.disabled = false
      }
    })
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(STYLE)
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
    script.after(form)
  }
  ask('form').then(show, error => console.warn(`callback form: ${error.message}`))
})()
