/** The part of `tandem --help` about remote commands. */
export const CLIENT_HELP = `With a key (tandem profile add NAME --key KEY [--url URL], or TANDEM_API_KEY and TANDEM_API_URL):

  tandem listen [--events call.*,queue.*] [--forward-to URL] [--from EVENT_ID] [--json]
                       shows events as they happen, and delivers them to a local address, signed like webhooks
  tandem resend EVENT_ID … --forward-to URL
                       delivers events of the log once more
  tandem trigger EVENT …
                       makes samples of events happen in test mode
  tandem calls list    any operation of the API by its words; --help behind it has what it takes
  tandem get|post|patch|put|delete /PATH [--name VALUE …] [-d JSON|@FILE]
                       any path of the API
  tandem profile add|list|use|remove
                       keys and addresses, kept in a file of yours; --profile NAME before or behind any command
  tandem completion bash|zsh
                       a script for the shell: source <(tandem completion bash)
`
