/**
 * A service over PostgreSQL as people write it with Fastify and pg: a pool, prepared statements, schemas of requests and
 * responses. It trusts its own code with the data: no role per request.
 */
import { fastify } from 'fastify';
import pg from 'pg';

const [port, connectionString, max] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString, max: Number(max) });
const app = fastify();

const id = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };
const item = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    name: { type: 'string' },
    price: { type: 'number' },
    sold: { type: 'boolean' },
  },
};
const items = { type: 'array', items: item };

app.get<{ Params: { id: number } }>(
  '/items/:id',
  { schema: { params: id, response: { 200: item } } },
  async ({ params }, reply) => {
    const text = 'select id, name, price, sold from items where id = $1';
    const { rows } = await pool.query({ name: 'item', text, values: [params.id] });
    return (rows[0] as unknown) ?? reply.code(404).send({ message: 'no such item' });
  },
);

app.get<{ Querystring: { id: number } }>(
  '/items',
  { schema: { querystring: id, response: { 200: items } } },
  async ({ query }) => {
    const text = 'select id, name, price, sold from items where id >= $1 order by id limit 100';
    const { rows } = await pool.query({ name: 'items', text, values: [query.id] });
    return rows;
  },
);

app.post<{ Body: { name: string; price: number; sold: boolean } }>(
  '/orders',
  { schema: { body: { ...item, required: ['name', 'price', 'sold'] } } },
  async ({ body }, reply) => {
    const text = 'insert into orders (name, price, sold) values ($1, $2, $3)';
    await pool.query({ name: 'order', text, values: [body.name, body.price, body.sold] });
    return reply.code(201).send();
  },
);

await app.listen({ host: '127.0.0.1', port: Number(port) });
process.once('SIGTERM', () => process.exit(0));
