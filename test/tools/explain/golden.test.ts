import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ExplainQuery } from '../../../src/tools/explain/index.ts';
import { configured, textOf } from './explained.ts';

/*
 * golden/*.golden: a configuration, then for each request a line of dashes with it, and the whole account as a terminal shows
 * it (RECORD=1 writes them again). `# file name: content` puts a file beside the configuration.
 */
const directory = new URL('golden/', import.meta.url);
const REQUEST = /^-{10} (.*)\n/m;

/** `METHOD url [| Header: value]… [<< body] [from address]` */
function questionOf(line: string): Partial<ExplainQuery> & Pick<ExplainQuery, 'url'> {
  const [, request = '', from = '127.0.0.1'] = /^(.*?)(?: from (\S+))?$/.exec(line) ?? [];
  const [head = '', body] = request.split(' << ');
  const [first = '', ...headerLines] = head.split(' | ');
  const [method = 'GET', url = '/'] = first.split(' ');
  const headers = headerLines.map((text) => text.split(/: (.*)/s).slice(0, 2) as [string, string]);
  return { method, url, headers, from, ...(body !== undefined && { body }) };
}

/** Times of files and responses depend on the day. */
function steady(text: string): string {
  return text.replace(/\b(Last-Modified|ETag|Expires): .*/g, '$1: …');
}

for (const file of readdirSync(directory)) {
  const [conf = '', ...parts] = readFileSync(new URL(file, directory), 'utf8').split(REQUEST);
  test(`explain describes ${file.replace('.golden', '').replaceAll('-', ' ')}`, async (t) => {
    const files = [...conf.matchAll(/^# file (\S+): (.*)$/gm)];
    const explained = configured(
      t,
      conf,
      Object.fromEntries(files.map(([, path = '', content = '']) => [path, content])),
    );
    mkdirSync(join(explained.dir, 'empty'));
    let told = '';
    let recorded = '';
    for (let index = 0; index < parts.length; index += 2) {
      const request = parts[index] as string;
      told += `---------- ${request}\n${steady(await textOf(explained, questionOf(request)))}`;
      recorded += `---------- ${request}\n${parts[index + 1] ?? ''}`;
    }
    if (process.env['RECORD']) writeFileSync(new URL(file, directory), conf + told);
    else expect(told).toBe(recorded);
  });
}
