/** Types that a `default_type` or an upstream makes up from a request must not fill the memory. */
const MAX_TYPES = 64;

/**
 * The first header lines of an answer as the value of one `Server` header. uWebSockets.js writes values as they are, so
 * both lines go in with one call into native code instead of two.
 */
export class HeadLines {
  private readonly texts = new Map<string, Map<string, string>>();

  /** `contentType` '' sends none. */
  serverAnd(contentType: string, serverToken: string): string {
    const known = this.texts.get(serverToken);
    const texts = known ?? new Map<string, string>();
    if (!known) this.texts.set(serverToken, texts);
    let text = texts.get(contentType);
    if (text === undefined) {
      text = contentType === '' ? serverToken : `${serverToken}\r\nContent-Type: ${contentType}`;
      if (texts.size < MAX_TYPES) texts.set(contentType, text);
    }
    return text;
  }
}
