import { directivesFor, readers } from '../../config/index.ts';
import { moduleFor } from '../../contract/index.ts';
import { mediaTypeTest, becomesAnother } from '../../http/index.ts';
import type { BodyFilter, BodyTransform, Exchange } from '../../http/index.ts';

interface AdditionConfig {
  /** URIs without queries, as in nginx; '' adds nothing. */
  readonly before: string;
  readonly after: string;
  readonly types: readonly (readonly string[])[];
}

const HSL = ['http', 'server', 'location'] as const;

const directives = directivesFor<AdditionConfig>()({
  add_before_body: {
    contexts: HSL,
    args: readers.text,
    into: 'before',
    default: '',
    defaultText: '-',
    summary: 'URI whose answer goes out before the body; an empty one adds nothing.',
    source: 'nginx ngx_http_addition_module#add_before_body',
  },
  add_after_body: {
    contexts: HSL,
    args: readers.text,
    into: 'after',
    default: '',
    defaultText: '-',
    summary: 'URI whose answer goes out behind the body; an empty one adds nothing.',
    source: 'nginx ngx_http_addition_module#add_after_body',
  },
  addition_types: {
    contexts: HSL,
    args: readers.mediaTypes,
    into: 'types',
    repeat: 'append',
    default: [['text/html']],
    defaultText: 'text/html',
    summary: 'Media types of the answers that something is added to, besides text/html; `*` for all.',
    source: 'nginx ngx_http_addition_module#addition_types',
  },
});

/** What other places of the server answer, before and behind a body (nginx ngx_http_addition_filter_module). */
export const addition = moduleFor<AdditionConfig>()({
  name: 'addition',
  directives,
  enabled: ({ before, after }) => before !== '' || after !== '',
  compile: (config) => ({ bodyFilter: compileFilter(config) }),
});

function compileFilter({ types, before, after }: AdditionConfig): BodyFilter {
  const hasType = mediaTypeTest(types.flat());
  return {
    wants: (x: Exchange) => x.status === 200 && x.main === x && hasType(x.responseType),
    open(x: Exchange) {
      becomesAnother(x);
      return new AddingTransform(x, { before, after });
    },
  };
}

class AddingTransform implements BodyTransform {
  readonly #x: Exchange;
  readonly #uris: Readonly<Record<'before' | 'after', string>>;
  #begun = false;

  constructor(x: Exchange, uris: Readonly<Record<'before' | 'after', string>>) {
    this.#x = x;
    this.#uris = uris;
  }

  write(piece: Uint8Array): Uint8Array | Promise<Uint8Array> {
    return this.#begun ? piece : this.#begin(piece);
  }

  async end(): Promise<Uint8Array> {
    const before = this.#begun ? NOTHING : await this.#begin(NOTHING);
    return Buffer.concat([before, await this.#ask(this.#uris.after)]);
  }

  async #begin(piece: Uint8Array): Promise<Uint8Array> {
    this.#begun = true;
    return Buffer.concat([await this.#ask(this.#uris.before), piece]);
  }

  async #ask(target: string): Promise<Uint8Array> {
    if (target === '') return NOTHING;
    const { collected } = await this.#x.subrequest({ uri: target, keep: 'body' });
    return collected;
  }
}

const NOTHING = new Uint8Array(0);
