import type { Exchange, ResponseStream } from '../http/index.ts';

/** Tells whether a client prefers a stream of events to JSON; a wildcard means JSON. */
export function prefersStream(accept: string | undefined): boolean {
  if (accept === undefined || !/event-stream/i.test(accept)) return false;
  const streamQuality = qualityOf('text/event-stream', accept);
  return streamQuality > 0 && streamQuality > qualityOf('application/json', accept);
}

function qualityOf(type: string, accept: string): number {
  for (const range of accept.toLowerCase().split(',')) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim());
    if (name !== type) continue;
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    return quality === undefined ? 1 : Number(quality.slice(2)) || 0;
  }
  return 0;
}

/** Begins a response of server-sent events. Gives `undefined` where no body is sent: to HEAD, or the client has left. */
export function beginStream(x: Exchange): ResponseStream | undefined {
  x.response.setHeader('Cache-Control', 'no-cache');
  // Otherwise nginx in front of gw would buffer the events.
  x.response.setHeader('X-Accel-Buffering', 'no');
  return x.stream(200, 'text/event-stream');
}

/** Data of an event: a line end would begin another field, so each line becomes a field of its own. */
export function dataLines(text: string): string {
  return `data: ${text.replace(/\r\n|[\r\n]/g, '\ndata: ')}\n`;
}
