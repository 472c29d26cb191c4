// What a saved picture shares with the program's comes as text.

declare module "*/svg/script.js" {
  const text: string;
  export default text;
}

declare module "*/svg/style.css" {
  const text: string;
  export default text;
}
