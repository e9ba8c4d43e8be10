// A control process up to the moment when it would begin: its modules are loaded, nothing is opened. Told so, it begins.
import '../../dist/control/app.js'

process.once('message', () => import('../../dist/control/main.js'))
process.once('disconnect', () => process.exit(0))
