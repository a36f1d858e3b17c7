/** A payload of varying length that reveals any mixture with another one. */
export function payloadOf(writer: number, n: number): string {
  return `${writer}:${n}:${String.fromCharCode(97 + ((writer * 7 + n) % 26)).repeat((n * 31) % 480)}`;
}

/** True when the text is exactly what that writer published as its n-th event. */
export function isPayload(text: string | null): boolean {
  const [writer, n] = (text ?? '').split(':');
  return text === payloadOf(Number(writer), Number(n));
}
