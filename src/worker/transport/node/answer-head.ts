/** What the head of an answer says. */
export interface AnswerHead {
  /** `200 OK` */
  readonly line: string;
  /** '' sends no `Server`. */
  readonly serverToken: string;
  readonly date: string;
  readonly contentType: string;
  /** Absent: no `Content-Length`. */
  readonly lengthBytes: number | undefined;
  readonly isChunked?: boolean;
  readonly closes: boolean;
  /** Value of `Keep-Alive`, if it is sent. */
  readonly keepAlive: string | undefined;
  /** Name, value, name, value … */
  readonly headers: readonly string[] | undefined;
}

/** The lines of a head in nginx's order, with the empty line behind them. */
export function answerHead(answer: AnswerHead): string {
  const { headers } = answer;
  let text = `HTTP/1.1 ${answer.line}\r\n`;
  if (answer.serverToken !== '' && !has(headers, 'server')) text += `Server: ${answer.serverToken}\r\n`;
  if (!has(headers, 'date')) text += `Date: ${answer.date}\r\n`;
  if (answer.contentType !== '') text += `Content-Type: ${answer.contentType}\r\n`;
  if (answer.lengthBytes !== undefined) text += `Content-Length: ${answer.lengthBytes}\r\n`;
  if (answer.isChunked) text += 'Transfer-Encoding: chunked\r\n';
  text += answer.closes ? 'Connection: close\r\n' : 'Connection: keep-alive\r\n';
  if (answer.keepAlive !== undefined && !answer.closes) text += `Keep-Alive: ${answer.keepAlive}\r\n`;
  if (headers) {
    for (let index = 0; index < headers.length; index += 2) {
      text += `${headers[index] as string}: ${headers[index + 1] as string}\r\n`;
    }
  }
  return `${text}\r\n`;
}

/** A proxied answer may bring its own. */
function has(headers: readonly string[] | undefined, name: string): boolean {
  return headers?.some((text, index) => index % 2 === 0 && text.toLowerCase() === name) ?? false;
}
