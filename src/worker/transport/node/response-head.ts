import { headerLines, responseLine } from '../../../http1/index.ts';

/** The fields that every head has. */
export interface CommonHeadFields {
  /** `200 OK` */
  readonly line: string;
  /** '' sends no `Server`. */
  readonly serverToken: string;
  /** '' sends no `Date`. */
  readonly date: string;
  /** Value of `Keep-Alive`; `undefined` sends none. */
  readonly keepAlive: string | undefined;
  /** Name, value, name, value … */
  readonly headers: readonly string[] | undefined;
}

/** The fields of a response's head. */
export interface ResponseHeadFields extends CommonHeadFields {
  readonly contentType: string;
  /** `undefined` sends no `Content-Length`. */
  readonly lengthBytes: number | undefined;
  readonly isChunked?: boolean;
  readonly closes: boolean;
}

/** Returns a head with its fields in nginx's order, including the empty line at its end. */
export function responseHeadText(head: ResponseHeadFields): string {
  let text = firstLines(head);
  if (head.contentType !== '') text += `Content-Type: ${head.contentType}\r\n`;
  if (head.lengthBytes !== undefined) text += `Content-Length: ${head.lengthBytes}\r\n`;
  if (head.isChunked) text += 'Transfer-Encoding: chunked\r\n';
  text += head.closes ? 'Connection: close\r\n' : 'Connection: keep-alive\r\n';
  if (head.keepAlive !== undefined && !head.closes) text += `Keep-Alive: ${head.keepAlive}\r\n`;
  return `${text}${headerLines(head.headers ?? [])}\r\n`;
}

/** Returns the head of a 101. */
export function upgradeHeadText(facts: CommonHeadFields, protocol: string): string {
  const text = firstLines({ ...facts, line: '101 Switching Protocols' });
  return `${text}Connection: upgrade\r\nUpgrade: ${protocol}\r\n${headerLines(facts.headers ?? [])}\r\n`;
}

function firstLines({ line, serverToken, date }: CommonHeadFields): string {
  const text = serverToken === '' ? responseLine(line) : `${responseLine(line)}Server: ${serverToken}\r\n`;
  return date === '' ? text : `${text}Date: ${date}\r\n`;
}
