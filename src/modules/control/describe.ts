import type { Exchange } from '../../http/index.ts';
import type { Endpoint } from './endpoint.ts';
import { sendText } from './envelope.ts';
import type { Described } from './routes.ts';

/** `/runtime/describe`: the routes that this configuration really binds. `inventory` is asked for at request time. */
export function describe(inventory: () => readonly Described[]): Endpoint {
  return {
    name: 'describe',
    path: 'describe',
    description: 'the routes of the control surface, this list',
    compile({ resources: { routes }, build }) {
      build.needHeader('accept');
      return (x) => {
        x.setHeader('Vary', 'Accept');
        const list = routes.list(inventory());
        if (wantsJson(x)) return x.send(200, 'application/json', JSON.stringify(list.map(descriptor)));
        return sendText(x, list.map(({ path, description }) => `GET ${path}: ${description}\n`).join(''));
      };
    },
  };
}

function descriptor({ name, path, description }: Described): object {
  return { name, path, method: 'GET', description };
}

/** JSON for those who name it, with a quality above 0; `*` means text. */
function wantsJson(x: Exchange): boolean {
  return (x.header('accept') ?? '')
    .toLowerCase()
    .split(',')
    .some((range) => /^\s*application\/json\s*(;|$)/.test(range) && !/;\s*q=0(\.0*)?\s*(;|$)/.test(range));
}
