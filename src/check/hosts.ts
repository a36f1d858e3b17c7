/** A host of this machine, by the words of it. */
export function isLocalHost(host: string): boolean {
  return /^(?:127\.|::1$|localhost$)/.test(host);
}
