/** Refusals of AUTH by a store without a password. */
const NO_PASSWORD = /no password is set|without any password configured/;
/** Refusals by a store that processes commands, but not yet or not on this connection. */
const NOT_READY = /^(?:NOAUTH|LOADING|MASTERDOWN)\b/;
/** Refusals by a store that does process commands. `max number of clients reached` is not one of them. */
const ANSWERING = /^(?:NOAUTH|NOPERM|LOADING|BUSY|MASTERDOWN|MISCONF)\b/;

/**
 * Returns the fault of a refused AUTH, if it is one: a store without a password accepts any client. A store without the
 * command repeats its arguments or their beginning, which must not be logged.
 */
export function authFault(refusal: string, password: string): string | undefined {
  if (NO_PASSWORD.test(refusal)) return undefined;
  const isRepeated = refusal.includes('with args') || refusal.includes(password);
  return isRepeated ? 'it does not take the login' : refusal;
}

/**
 * Returns the fault of a reply to PING or of its refusal. With `onlyReady`, a store that cannot serve yet is at fault,
 * too.
 */
export function pingFault(
  reply: unknown,
  refusal: string | undefined,
  onlyReady = false,
): string | undefined {
  if (refusal !== undefined)
    return ANSWERING.test(refusal) && !(onlyReady && NOT_READY.test(refusal)) ? undefined : refusal;
  const isPong = Buffer.isBuffer(reply) && reply.toString() === 'PONG';
  return isPong ? undefined : 'it does not answer PING with PONG';
}
