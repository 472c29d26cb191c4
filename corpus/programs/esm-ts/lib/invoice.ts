export interface Line { name: string; cents: number }

export class Invoice {
  readonly id: string;
  readonly lines: Line[];

  constructor(id: string, lines: Line[]) {
    this.id = id;
    this.lines = lines;
  }

  get total(): number {
    return this.lines.reduce((sum: number, line: Line): number => sum + line.cents, 0);
  }

  get label(): string {
    return this.lines.map((line) => line.name.padEnd(12, '.')).join('\n');
  }
}
