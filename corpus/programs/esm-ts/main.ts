import { nanoid } from 'nanoid';
import YAML from 'yaml';
import { z } from 'zod';
import { Invoice, type Line } from './lib/invoice.ts';
import { tax } from './lib/tax.mjs';

const schema = z.object({ id: z.string(), lines: z.array(z.object({ name: z.string(), cents: z.number().int() })) });

function order(size: number): { id: string; lines: Line[] } {
  return { id: nanoid(), lines: Array.from({ length: size }, (unused, i): Line => ({ name: `line ${i}`, cents: i * 17 })) };
}

async function bill(size: number): Promise<string> {
  const checked = schema.parse(YAML.parse(YAML.stringify(order(size))));
  const invoice = new Invoice(checked.id, checked.lines);
  return `${invoice.label} ${await tax(invoice.total)}`;
}

const end: number = Date.now() + (Number(process.argv[2]) || 3000);
let last = '';
while (Date.now() < end) last = await bill(20);
const late = await import('./lib/late.cjs');
console.log(last.length > 0, late.default.name);
