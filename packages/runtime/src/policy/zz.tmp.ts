import { compileCondition } from "./condition.ts";
import { evaluate } from "./condition/evaluate.ts";
import { inputShape } from "./condition/shape.ts";
import { bind } from "./condition/values.ts";
import { RE2JS } from "re2js";
const shape=inputShape({type:"object",properties:{l:{type:"array",items:{type:"number"}}}});
const big=compileCondition("args.l.exists(i, i == 7.0 || i > 1e30)"); if(big.ok){const f={variables:new Map([["args",bind({l:Array.from({length:200000},(_,i)=>i*8+1)},shape)]]),counts:undefined};
for(let r=0;r<6;r++){const s=performance.now();evaluate(big.condition.root,f,50000);console.log((performance.now()-s).toFixed(2)+"ms for 50000 steps")}}
for(const [pat,text] of [["^[a-z]+$","a".repeat(100000)],["(a|b|ab)*c","ab".repeat(10000)+"c"],["(a|b|ab)*c$","ab".repeat(10000)+"cx"],["z.{1,500}y$","z".repeat(5000)+"y."],["(.*)(.*)(.*)x$","a".repeat(20000)+"x."],["(?i)(foo|bar|baz).{0,300}(x|y){1,100}q$","fooxyq".repeat(2000)+"."],["(a?){100}a{100}$","a".repeat(3000)+"b"], ["[^a]*[^b]*[^c]*[^d]*e$", "xyz".repeat(5000)+"ef"],["(x{1,1000})y$","x".repeat(10000)+"y."]] as const){
 const m=RE2JS.compile(pat); 
 for(let r=0;r<2;r++){const s=performance.now(); m.test(text); const ms=performance.now()-s;
 console.log(pat,text.length,m.programSize(),ms.toFixed(2)+"ms",(ms*1e6/text.length).toFixed(1)+"ns/char",(ms*1e6/text.length/m.programSize()).toFixed(2)+"ns per char×instr");}
}
